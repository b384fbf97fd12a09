"""Calls and sources that rules about modules share."""

from .source import Document

LOADS = (
    "cuModuleLoad", "cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleLoadFatBinary", "cuLibraryLoadData",
    "cuLibraryLoadFromFile", "cuLinkAddData_v2", "cuLinkAddFile_v2",
)  # fmt: skip
HANDLES = Document("CUresult.CUDA_ERROR_INVALID_HANDLE", "a resource handle passed to the API call was not valid")
