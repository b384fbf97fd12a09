from typing import Any

ffi: Any
lib: Any
__file__: str
