"""Pages of a discussion: topics, posts, and what people do with them."""
