"""Where the three doors open: attention and its parts."""
