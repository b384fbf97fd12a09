#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
extern "C" __global__ void h1(half*a,half2*b,__nv_bfloat16*c,__nv_bfloat162*d,float*f){int t=threadIdx.x; a[t]=__hadd(a[t],a[t+1])*a[t+2]-hsqrt(a[t]); b[t]=__hfma2(b[t],b[t+1],b[t+2]); c[t]=__hfma(c[t],c[t+1],c[t+2])+__float2bfloat16(f[t]); d[t]=__hmax2(d[t],d[t+1]); f[t]=__half2float(a[t])+__bfloat162float(c[t]); if(__hgt(a[t],a[t+1])) a[t]=__hneg(a[t]); a[t+5]=hexp(a[t]); d[t+4]=__floats2bfloat162_rn(f[t],f[t+1]); atomicAdd(a,a[1]); atomicAdd(b,b[1]); atomicAdd(d,d[1]); a[t+6]=__hmin(a[t],a[t+1]); c[t+8]=htanh(c[t]); a[t+9]=__int2half_rn(t); f[t+1]=__half2int_rz(a[t]); b[t+3]=__habs2(b[t]); }
extern "C" __global__ void h2(__nv_fp8_e4m3*a,__nv_fp8x2_e5m2*b,float*f,float2*g){int t=threadIdx.x; a[t]=__nv_fp8_e4m3(f[t]); f[t]=float(a[t+1]); b[t]=__nv_fp8x2_e5m2(g[t]); g[t]=float2(b[t+1]);}
