"""Goals in, mechanism out, or the reason why not."""
