"""The Leaderboard tab: the board, what stands behind a row, and the reveal."""
