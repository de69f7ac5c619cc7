"""What is written to disk of games, and pictures of several at once.

`recorder` listens to a single env and `observations` to a batch of which only those are seen;
`files` writes PNG, makes folders and finds the numbers of files, `video` writes mp4; `tiles` puts
pictures side by side.

A recording that fails stops no env: what is lost is said in the log, and later files are tried
again. A forked child records nothing: the open files are its parent's.
"""
