# The extension that native/build_dlpack.py builds; native/dlpack.h says what each function does.
from typing import Any

ffi: Any
lib: Any
