"""Barriers, votes, fences, mbarrier, the flow of control. Source: PTX ISA, "Parallel Synchronization", "Control"."""

ROWS = """
bar .cta? .sync                                             u32 u32?
bar .cta? .arrive                                           u32 u32
bar .cta? .red .popc .u32                                   =T u32 pred
bar .cta? .red .popc .u32                                   =T u32 u32 pred
bar .cta? .red .and|or .pred                                =T u32 pred
bar .cta? .red .and|or .pred                                =T u32 u32 pred
barrier .cta? .sync .aligned?                               u32 u32?                @6.0
barrier .cta? .arrive .aligned?                             u32 u32                 @6.0
barrier .cta? .red .popc .aligned? .u32                     =T u32 pred             @6.0
barrier .cta? .red .popc .aligned? .u32                     =T u32 u32 pred         @6.0
barrier .cta? .red .and|or .aligned? .pred                  =T u32 pred             @6.0
barrier .cta? .red .and|or .aligned? .pred                  =T u32 u32 pred         @6.0
bar .warp .sync                                             u32                     @6.0
barrier .cluster .arrive .release|relaxed? .aligned?                                @90 @7.8
barrier .cluster .wait .acquire? .aligned?                                          @90 @7.8
membar .cta|gl|sys
membar .proxy .alias                                                                @7.5
membar .proxy .async                                                                @90 @8.0
fence .sc|acq_rel? .SCOPE                                                           @6.0
fence .acquire|release .SCOPE                                                       @90 @8.6
fence .acquire .sync_restrict::shared::cluster .cluster                             @90 @8.6
fence .release .sync_restrict::shared::cta .cluster                                 @90 @8.6
fence .mbarrier_init .release .cluster                                              @90 @8.0
fence .proxy .alias                                                                 @7.5
fence .proxy .async                                                                 @90 @8.0
fence .proxy .async .global|shared::cta|shared::cluster                                                  @90 @8.0
fence .proxy .async::generic .acquire .sync_restrict::shared::cluster .cluster      @90 @8.6
fence .proxy .async::generic .release .sync_restrict::shared::cta .cluster          @90 @8.6
vote .sync .all|any|uni .pred                               =T T u32                @6.0
vote .sync .ballot .b32                                     =T pred u32             @6.0
match .any .sync .b32|b64                                   =u32 T u32              @6.0
match .all .sync .b32|b64                                   =u32|P T u32            @6.0
activemask .b32                                             =T                      @6.2
redux .sync .add|min|max .I32                               =T T u32                @80 @7.0
redux .sync .and|or|xor .b32                                =u32 u32 u32                @80 @7.0
redux .sync .min|max .abs? .NaN? .f32                       =T T u32                @family_100 @8.6
elect .sync                                                 =u32|P!_ u32            @90 @8.0
setmaxnreg.inc|dec .sync .aligned .u32                      #                       @accelerated @8.0
griddepcontrol .launch_dependents|wait                                              @90 @7.8
nanosleep .u32                                              T                       @6.3
trap
brkpt
exit
ret .uni?
bra .uni?                                                   :
brx.idx .uni?                                              u32 :                   @6.0
pmevent                                                     #
pmevent .mask                                               #
mbarrier.init .shared|shared::cta? .b64                    [] u32                  @80 @7.0
mbarrier.inval .shared|shared::cta? .b64                   []                      @80 @7.0
mbarrier.expect_tx .relaxed? .cta|cluster? .SHARED? .b64                           [] u32          @90 @8.0
mbarrier.complete_tx .relaxed? .cta|cluster? .SHARED? .b64                         [] u32          @90 @8.0
mbarrier.arrive|arrive_drop .release? .cta|cluster? .shared|shared::cta? .b64   =u64_ []    @80 @7.0
mbarrier.arrive|arrive_drop .release? .cta|cluster? .shared|shared::cta? .b64   =u64_ [] u32    @90 @7.8
mbarrier.arrive|arrive_drop .release? .cta|cluster? .shared::cluster .b64                    =_ [] u32?     @90 @8.0
mbarrier.arrive|arrive_drop .relaxed .cta|cluster .shared|shared::cta? .b64                  =u64_ [] u32?   @90 @8.6
mbarrier.arrive|arrive_drop .relaxed .cta|cluster .shared::cluster .b64                      =_ [] u32?     @90 @8.6
mbarrier.arrive|arrive_drop .expect_tx .release|relaxed? .cta|cluster? .shared|shared::cta? .b64   =u64_ [] u32 @90 @8.0
mbarrier.arrive|arrive_drop .expect_tx .release|relaxed? .cta|cluster? .shared::cluster .b64   =_ [] u32   @90 @8.0
mbarrier.arrive|arrive_drop .noComplete .release? .cta? .shared|shared::cta? .b64          =u64_ [] u32    @80 @7.0
mbarrier.test_wait .acquire|relaxed? .cta|cluster? .shared|shared::cta? .b64               =pred [] u64    @80 @7.0
mbarrier.test_wait .parity .acquire|relaxed? .cta|cluster? .shared|shared::cta? .b64       =pred [] u32    @80 @7.1
mbarrier.try_wait .acquire|relaxed? .cta|cluster? .shared|shared::cta? .b64   =pred [] u64 u32?   @90 @7.8
mbarrier.try_wait .parity .acquire|relaxed? .cta|cluster? .shared|shared::cta? .b64   =pred [] u32 u32?   @90 @7.8
mbarrier.pending_count .b64                                =u32 u64                @80 @7.0
"""
