"""The C of the team: what consumers of DLPack call. `build_dlpack.py` builds it as `cumulticast.team._dlpack`."""
