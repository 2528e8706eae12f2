"""RL libraries behind one contract. Importing this package imports no library, and no torch.

An adapter is a module that satisfies `base.Adapter`; `registry.load_adapter` imports it by name.
"""
