"""Bodies of requests and answers. Fields are listed one by one, so that none leaks."""
