extern "C" __global__ void m1(unsigned*a,float*d){ __shared__ unsigned s[512]; s[threadIdx.x]=a[threadIdx.x]; __syncthreads(); unsigned r0,r1,r2,r3; unsigned sp=__cvta_generic_to_shared(s+threadIdx.x*4);
asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];":"=r"(r0),"=r"(r1),"=r"(r2),"=r"(r3):"r"(sp));
asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3]):"r"(r0),"r"(r1),"r"(r2),"r"(r3),"r"(a[0]),"r"(a[1]));
asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3]):"r"(r0),"r"(r1),"r"(r2),"r"(r3),"r"(a[0]),"r"(a[1]));
asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3]):"r"(r0),"r"(r1),"r"(r2),"r"(r3),"r"(a[0]),"r"(a[1]));
asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};":"+r"(a[0]),"+r"(a[1]),"+r"(a[2]),"+r"(a[3]):"r"(r0),"r"(r1),"r"(r2),"r"(r3),"r"(a[0]),"r"(a[1]));
asm volatile("cp.async.cg.shared.global [%0],[%1],16;"::"r"(sp),"l"(a)); asm volatile("cp.async.commit_group;"); asm volatile("cp.async.wait_group 0;"); asm volatile("cp.async.wait_all;");
}
#if __CUDA_ARCH__>=900
extern "C" __global__ void m2(float4*mc,float*one,unsigned*flag){ float a,b,c,d; asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0,%1,%2,%3},[%4];":"=f"(a),"=f"(b),"=f"(c),"=f"(d):"l"(mc):"memory"); asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0],{%1,%2,%3,%4};"::"l"(mc),"f"(a),"f"(b),"f"(c),"f"(d):"memory"); asm volatile("multimem.red.release.sys.global.add.u32 [%0],1;"::"l"(flag):"memory"); asm volatile("fence.proxy.alias;":::"memory"); 
asm volatile("{.reg .b64 st; .reg .pred P1; .shared .align 8 .b64 bar; mbarrier.init.shared.b64 [bar],32; mbarrier.arrive.shared.b64 st,[bar]; W: mbarrier.try_wait.shared.b64 P1,[bar],st; @!P1 bra W; }":::"memory"); asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"); }
#endif
