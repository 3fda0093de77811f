"""Reading boards: pages of rows, columns, exports, and what submissions reached."""
