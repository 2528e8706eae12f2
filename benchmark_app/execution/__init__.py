"""Where environments run: in this process, in processes of their own, or served by another interpreter.

`RemoteEnv` is what a training library sees, whatever is behind it; `EnvHost` is what steps the environments at the
other end; `EnvLink` is the way between them. Importing this package imports neither torch nor an engine.
"""
