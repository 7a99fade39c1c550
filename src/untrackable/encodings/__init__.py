"""What people hold, as integers below 2^d: every encoding is public, and nothing falls through it unnoticed."""
