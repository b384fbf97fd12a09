# The extension that build_door.py builds from ../libcuda/python.c.
from cumulticast.libcuda._door import FFI, Lib

lib: Lib
ffi: FFI
