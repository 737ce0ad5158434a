"""``make bench``: speed as ratios, both sides measured in one run on one machine."""
