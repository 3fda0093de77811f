class model:
    def predict(self, x): return 0
