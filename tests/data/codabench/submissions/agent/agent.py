def act(x): return x + 10
