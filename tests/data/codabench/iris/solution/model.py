class model: pass
