"""Newton's Warp renderer."""
