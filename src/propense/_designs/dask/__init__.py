"""The design over Dask arrays; imported only if X is one."""
