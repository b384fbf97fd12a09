"""Conversions. Source: PTX ISA, "cvt", "cvt.pack"."""

ROWS = """
cvt .sat? .INTEGER .INTEGER                                 =~T ~U
cvt .INT .ftz? .sat? .INTEGER .f32                          =~T ~U
cvt .INT .sat? .INTEGER .f64|f16                            =~T ~U
cvt .INT .INTEGER .bf16                                     =~T ~U              @90 @7.8
cvt .RND .sat? .f32|f64|f16 .INTEGER                        =~T ~U
cvt .RND .bf16 .INTEGER                                     =~T ~U              @90 @7.8
cvt .INT? .ftz? .sat? .f32 .f32                             =~T ~U
cvt .INT? .sat? .f64 .f64                                   =~T ~U
cvt .INT? .sat? .f16 .f16                                   =~T ~U
cvt .INT? .bf16 .bf16                                       =~T ~U              @90 @7.8
cvt .ftz? .sat? .f64 .f32                                   =~T ~U
cvt .RND .ftz? .sat? .f32 .f64                              =~T ~U
cvt .ftz? .sat? .f32 .f16                                   =~T ~U
cvt .sat? .f64 .f16                                         =~T ~U
cvt .RND .ftz? .sat? .f16 .f32                              =~T ~U
cvt .RND .sat? .f16 .f64                                    =~T ~U
cvt .ftz? .f32 .bf16                                        =~T ~U              @80 @7.1
cvt .f64 .bf16                                              =~T ~U              @90 @7.8
cvt .RND .bf16 .f16|f64                                     =~T ~U              @90 @7.8
cvt .RND? .f16 .bf16                                        =~T ~U              @90 @7.8
cvt .rn|rz .relu? .satfinite? .f16|bf16 .f32                =~T ~U              @80 @7.0
cvt .rn|rz .relu? .satfinite? .f16x2|bf16x2 .f32            =T U U              @80 @7.0
cvt .rm|rp .bf16 .f32                                       =~T ~U              @80 @7.0
cvt .rna .satfinite? .tf32 .f32                             =b32 U              @80 @7.0
cvt .rn|rz .relu? .satfinite? .tf32 .f32                    =b32 U              @90 @7.8
cvt .rn .satfinite .relu? .e4m3x2|e5m2x2 .f32               =b16 U U            @89 @8.1
cvt .rn .satfinite .relu? .e4m3x2|e5m2x2 .f16x2             =b16 U              @89 @8.1
cvt .rn .relu? .f16x2 .e4m3x2|e5m2x2                        =T b16              @89 @8.1
cvt .pack .sat .u16|s16 .s32                                =b32 U U            @75 @6.5
cvt .pack .sat .u8|s8 .s32 .b32                             =b32 U U V          @75 @6.5
"""
