"""The design over torch tensors; imported only if X is one."""
