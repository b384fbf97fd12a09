"""Memory and addresses. Source: PTX ISA, "Data Movement and Conversion"."""

ROWS = """
ld .weak? .ANYSPACE? .COP? .HINT? .L2P? .VECTOR? .LDTYPE|b128               =~*T [] H
ld .weak? .GLOBAL? .L1E .HINT? .L2P? .VECTOR? .LDTYPE|b128                   =~*T [] H                   @7.4
ld .weak? .GLOBAL? .L1E? .L2E .HINT? .L2P? .VECTOR? .LDTYPE                  =~*T [] H                   @100 @8.8
ld .volatile .MEMSPACE? .L2P? .VECTOR? .LDTYPE|b128                         =~*T []
ld .relaxed|acquire .SCOPE .MEMSPACE? .L1E? .HINT? .L2P? .VECTOR? .LDTYPE|b128     =~*T [] H             @6.0
ld .mmio .relaxed .sys .global? .LDTYPE                             =~T []                              @8.2
ld .mmio .acquire .sys .global? .LDTYPE                             =~T []                              @9.3
ld .global .ca|cg|cs? .nc .HINT? .L2P? .VECTOR? .LDTYPE|b128                     =~*T [] H                   @3.1
ld .global .nc .L1E? .L2E? .HINT? .L2P? .VECTOR? .LDTYPE|b128                =~*T [] H                   @7.4
ldu .global? .VECTOR? .LDTYPE|b128                                          =~*T []                     @2.0
st .weak? .STSPACE? .WOP? .HINT? .VECTOR? .LDTYPE|b128                      [] ~*T H
st .weak? .GLOBAL? .L1E .HINT? .VECTOR? .LDTYPE|b128                         [] ~*T H                    @7.4
st .weak? .GLOBAL? .L1E? .L2E .HINT? .VECTOR? .LDTYPE                        [] ~*T H                    @100 @8.8
st .volatile .MEMSPACE? .VECTOR? .LDTYPE|b128                               [] ~*T
st .relaxed|release .SCOPE .MEMSPACE? .L1E? .HINT? .VECTOR? .LDTYPE|b128     [] ~*T H                    @6.0
st .mmio .relaxed .sys .global? .LDTYPE                             [] ~T                               @8.2
st .mmio .release .sys .global? .LDTYPE                             [] ~T                               @9.3
prefetch .global|local? .L1|L2                                              []                          @2.0
prefetch .global? .L2::evict_last|L2::evict_normal                           []                          @80 @7.4
prefetchu .L1                                                               []                          @2.0
applypriority .global? .L2::evict_normal                                    [] #                        @80 @7.4
discard .global? .L2                                                        [] #                        @80 @7.4
createpolicy .fractional .PRIMARY .SECOND? .b64    =b64 f32?   @80 @7.4
createpolicy .range .global? .PRIMARY .SECOND? .b64 =b64 [] u32 u32     @80 @7.4
createpolicy .cvt .L2 .b64                                                  =b64 b64                    @80 @7.4
isspacep .param|param::entry|GENSPACE|local                           =pred A                     @2.0
cvta .const|param|param::entry|GENSPACE|local .u64                          =b64 A                      @2.0
cvta.to .const|param|param::entry|GENSPACE|local .u64                       =b64 A                      @2.0
mapa .shared::cluster? .u32|u64                                             =T A u32                    @90 @7.8
getctarank .shared::cluster? .u32|u64                                       =u32 A                      @90 @7.8
cp .async .ca .shared|shared::cta .global .HINT? .L2P?                      [] [] # u32? H              @80 @7.0
cp .async .cg .shared|shared::cta .global .HINT? .L2P?                      [] [] # u32? H              @80 @7.0
cp .async .ca|cg .shared|shared::cta .global .HINT? .L2P?                   [] [] # pred H              @80 @7.5
cp .async .commit_group                                                                                 @80 @7.0
cp .async .wait_group                                                       #                           @80 @7.0
cp .async .wait_all                                                                                     @80 @7.0
cp .async .mbarrier .arrive .noinc? .shared|shared::cta? .b64               []                          @80 @7.0
mov .VEC .B|b8|I|f32|f64                                                    =*T *T
mov .pred                                                                   =T T
mov .B|b128|I|f32|f64                                                       =M M
shfl .sync .up|down|bfly|idx .b32                                           =T|P T T T T                @6.0
"""
