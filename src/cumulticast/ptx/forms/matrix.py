"""Matrix instructions of one warp. Source: PTX ISA, "Warp-Level Matrix Multiply-Accumulate Instructions"."""

_MMA = "mma .sync .aligned"

ROWS = f"""
ldmatrix .sync .aligned .m8n8 .x1 .trans? .shared|shared::cta? .b16     =1*b32 []       @75 @6.5
ldmatrix .sync .aligned .m8n8 .x2 .trans? .shared|shared::cta? .b16     =2*b32 []       @75 @6.5
ldmatrix .sync .aligned .m8n8 .x4 .trans? .shared|shared::cta? .b16     =4*b32 []       @75 @6.5
stmatrix .sync .aligned .m8n8 .x1 .trans? .shared|shared::cta? .b16     [] 1*b32        @90 @7.8
stmatrix .sync .aligned .m8n8 .x2 .trans? .shared|shared::cta? .b16     [] 2*b32        @90 @7.8
stmatrix .sync .aligned .m8n8 .x4 .trans? .shared|shared::cta? .b16     [] 4*b32        @90 @7.8
movmatrix .sync .aligned .m8n8 .trans .b16                              =b32 b32        @75 @7.8
{_MMA} .m16n8k8 .row .col .f16 .f16 .f16 .f16           =2*b32 2*b32 1*b32 2*b32        @75 @6.5
{_MMA} .m16n8k8 .row .col .f32 .f16 .f16 .f32           =4*f32 2*b32 1*b32 4*f32        @75 @6.5
{_MMA} .m16n8k16 .row .col .f16 .f16 .f16 .f16          =2*b32 4*b32 2*b32 2*b32        @80 @7.0
{_MMA} .m16n8k16 .row .col .f32 .f16 .f16 .f32          =4*f32 4*b32 2*b32 4*f32        @80 @7.0
{_MMA} .m16n8k8 .row .col .f32 .bf16 .bf16 .f32         =4*f32 2*b32 1*b32 4*f32        @80 @7.0
{_MMA} .m16n8k16 .row .col .f32 .bf16 .bf16 .f32        =4*f32 4*b32 2*b32 4*f32        @80 @7.0
{_MMA} .m16n8k4 .row .col .f32 .tf32 .tf32 .f32         =4*f32 2*b32 1*b32 4*f32        @80 @7.0
{_MMA} .m16n8k8 .row .col .f32 .tf32 .tf32 .f32         =4*f32 4*b32 2*b32 4*f32        @80 @7.0
{_MMA} .m8n8k4 .row .col .f64 .f64 .f64 .f64            =2*f64 1*f64 1*f64 2*f64        @80 @7.0
{_MMA} .m16n8k4 .row .col .f64 .f64 .f64 .f64           =4*f64 2*f64 1*f64 4*f64        @90 @7.8
{_MMA} .m16n8k8 .row .col .f64 .f64 .f64 .f64           =4*f64 4*f64 2*f64 4*f64        @90 @7.8
{_MMA} .m16n8k16 .row .col .f64 .f64 .f64 .f64          =4*f64 8*f64 4*f64 4*f64        @90 @7.8
{_MMA} .m8n8k16 .row .col .satfinite? .s32 .u8|s8 .u8|s8 .s32   =2*s32 1*b32 1*b32 2*s32        @75 @6.5
{_MMA} .m16n8k16 .row .col .satfinite? .s32 .u8|s8 .u8|s8 .s32  =4*s32 2*b32 1*b32 4*s32        @80 @7.0
{_MMA} .m16n8k32 .row .col .satfinite? .s32 .u8|s8 .u8|s8 .s32  =4*s32 4*b32 2*b32 4*s32        @80 @7.0
"""
