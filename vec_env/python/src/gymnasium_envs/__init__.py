"""Gymnasium's classes around a batch of environments in Rust.

These modules are compiled into each extension module that the macro `module!` makes, which loads
them under its own name: there is no such package to install.
"""
