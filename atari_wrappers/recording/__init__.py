"""What is written to disk of games, and pictures of several at once.

`recorder` decides what belongs to which file, `video` writes mp4 files, `tiles` puts pictures side
by side.
"""
