"""Sources of the native core, `oborona._core`, in C; there is nothing here to import."""
