"""Matrix instructions of one warp. Source: PTX ISA, "Warp-Level Matrix Multiply-Accumulate Instructions"."""

_MMA = "mma .sync .aligned"
_F64 = ".row .col .RND? .f64 .f64 .f64 .f64"
_S4 = ".row .col .satfinite? .s32 .u4|s4 .u4|s4 .s32"
_B1 = ".row .col .s32 .b1 .b1 .s32"
_F8 = ".e4m3|e5m2 .e4m3|e5m2"

ROWS = f"""
ldmatrix .sync .aligned .m8n8 .x1 .trans? .shared|shared::cta? .b16     =1*b32 []       @75 @6.5
ldmatrix .sync .aligned .m8n8 .x2 .trans? .shared|shared::cta? .b16     =2*b32 []       @75 @6.5
ldmatrix .sync .aligned .m8n8 .x4 .trans? .shared|shared::cta? .b16     =4*b32 []       @75 @6.5
stmatrix .sync .aligned .m8n8 .x1 .trans? .shared|shared::cta? .b16     [] 1*b32        @90 @7.8
stmatrix .sync .aligned .m8n8 .x2 .trans? .shared|shared::cta? .b16     [] 2*b32        @90 @7.8
stmatrix .sync .aligned .m8n8 .x4 .trans? .shared|shared::cta? .b16     [] 4*b32        @90 @7.8
ldmatrix .sync .aligned .m16n16 .x1 .trans .shared|shared::cta? .b8     =2*b32 []       @small_floats @8.6
ldmatrix .sync .aligned .m16n16 .x2 .trans .shared|shared::cta? .b8     =4*b32 []       @small_floats @8.6
stmatrix .sync .aligned .m16n8 .x1 .trans .shared|shared::cta? .b8      [] 1*b32        @small_floats @8.6
stmatrix .sync .aligned .m16n8 .x2 .trans .shared|shared::cta? .b8      [] 2*b32        @small_floats @8.6
stmatrix .sync .aligned .m16n8 .x4 .trans .shared|shared::cta? .b8      [] 4*b32        @small_floats @8.6
movmatrix .sync .aligned .m8n8 .trans .b16                              =b32 b32        @75 @7.8
{_MMA} .m16n8k8 .row .col .f16 .f16 .f16 .f16           =2*b32 2*b32 1*b32 2*b32        @75 @6.5
{_MMA} .m16n8k8 .row .col .f32 .f16 .f16 .f32           =4*f32 2*b32 1*b32 4*f32        @75 @6.5
{_MMA} .m16n8k16 .row .col .f16 .f16 .f16 .f16          =2*b32 4*b32 2*b32 2*b32        @80 @7.0
{_MMA} .m16n8k16 .row .col .f32 .f16 .f16 .f32          =4*f32 4*b32 2*b32 4*f32        @80 @7.0
{_MMA} .m16n8k8 .row .col .f32 .bf16 .bf16 .f32         =4*f32 2*b32 1*b32 4*f32        @80 @7.0
{_MMA} .m16n8k16 .row .col .f32 .bf16 .bf16 .f32        =4*f32 4*b32 2*b32 4*f32        @80 @7.0
{_MMA} .m16n8k4 .row .col .f32 .tf32 .tf32 .f32         =4*f32 2*b32 1*b32 4*f32        @80 @7.0
{_MMA} .m16n8k8 .row .col .f32 .tf32 .tf32 .f32         =4*f32 4*b32 2*b32 4*f32        @80 @7.0
{_MMA} .m8n8k4 {_F64}            =2*f64 1*f64 1*f64 2*f64        @80 @7.0
{_MMA} .m16n8k4 {_F64}           =4*f64 2*f64 1*f64 4*f64        @90 @7.8
{_MMA} .m16n8k8 {_F64}           =4*f64 4*f64 2*f64 4*f64        @90 @7.8
{_MMA} .m16n8k16 {_F64}          =4*f64 8*f64 4*f64 4*f64        @90 @7.8
{_MMA} .m8n8k16 .row .col .satfinite? .s32 .u8|s8 .u8|s8 .s32   =2*s32 1*b32 1*b32 2*s32        @75 @6.5
{_MMA} .m16n8k16 .row .col .satfinite? .s32 .u8|s8 .u8|s8 .s32  =4*s32 2*b32 1*b32 4*s32        @80 @7.0
{_MMA} .m16n8k32 .row .col .satfinite? .s32 .u8|s8 .u8|s8 .s32  =4*s32 4*b32 2*b32 4*s32        @80 @7.0
{_MMA} .m8n8k4 .row|col .row|col .f16 .f16 .f16 .f16    =4*b32 2*b32 2*b32 4*b32        @70 @6.4
{_MMA} .m8n8k4 .row|col .row|col .f32 .f16 .f16 .f16    =8*f32 2*b32 2*b32 4*b32        @70 @6.4
{_MMA} .m8n8k4 .row|col .row|col .f32 .f16 .f16 .f32    =8*f32 2*b32 2*b32 8*f32        @70 @6.4
{_MMA} .m16n8k16 .row .col .f16 {_F8} .f16              =2*b32 2*b32 1*b32 2*b32        @89 @8.7
{_MMA} .m16n8k16 .row .col .f32 {_F8} .f32              =4*f32 2*b32 1*b32 4*f32        @89 @8.7
{_MMA} .m16n8k32 .row .col .f16 {_F8} .f16              =2*b32 4*b32 2*b32 2*b32        @89 @8.7
{_MMA} .m16n8k32 .row .col .f32 {_F8} .f32              =4*f32 4*b32 2*b32 4*f32        @89 @8.4
{_MMA} .m8n8k32 {_S4}    =2*s32 1*b32 1*b32 2*s32        @75 @6.5
{_MMA} .m16n8k32 {_S4}   =4*s32 2*b32 1*b32 4*s32        @80 @7.0
{_MMA} .m16n8k64 {_S4}   =4*s32 4*b32 2*b32 4*s32        @80 @7.0
{_MMA} .m8n8k128 {_B1} .xor .popc    =2*s32 1*b32 1*b32 2*s32        @75 @7.0
{_MMA} .m16n8k128 {_B1} .xor .popc   =4*s32 2*b32 1*b32 4*s32        @80 @7.0
{_MMA} .m16n8k256 {_B1} .xor .popc   =4*s32 4*b32 2*b32 4*s32        @80 @7.0
{_MMA} .m8n8k128 {_B1} .and .popc    =2*s32 1*b32 1*b32 2*s32        @80 @7.1
{_MMA} .m16n8k128 {_B1} .and .popc   =4*s32 2*b32 1*b32 4*s32        @80 @7.1
{_MMA} .m16n8k256 {_B1} .and .popc   =4*s32 4*b32 2*b32 4*s32        @80 @7.1
"""
