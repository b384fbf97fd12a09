#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg=cooperative_groups;
extern "C" __global__ void c1(int*o){ auto g=cg::this_grid(); o[g.thread_rank()]=1; g.sync(); auto b=cg::this_thread_block(); auto t=cg::tiled_partition<8>(b); o[b.thread_rank()]=cg::reduce(t,o[0],cg::plus<int>()); auto c=cg::coalesced_threads(); o[2]=c.size(); }
#if __CUDA_ARCH__>=900
extern "C" __global__ void __cluster_dims__(2,1,1) c2(int*o){ __shared__ int s[32]; auto c=cg::this_cluster(); s[threadIdx.x]=o[threadIdx.x]; c.sync(); int*r=c.map_shared_rank(s,1); o[threadIdx.x]=r[threadIdx.x]; c.sync(); }
#endif
extern "C" __global__ void c3(int*o){ __shared__ int s[256]; auto b=cg::this_thread_block(); cg::memcpy_async(b,s,o,sizeof(s)); cg::wait(b); o[threadIdx.x]=s[threadIdx.x]; }
