"""Reading and writing of a draft's tables in an interpreter of their own: no Django in here. The site calls `program`."""
