"""What is written to disk of games, and pictures of several at once.

`recorder` listens to a single env and `observations` to a batch of which only those are seen;
`frames` and `video` write PNG and mp4 files, `folders` finds the numbers for them; `tiles` puts
pictures side by side.
"""
