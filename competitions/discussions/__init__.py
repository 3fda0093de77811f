"""Discussion of a competition: topics, replies, who follows them, and their moderation."""
