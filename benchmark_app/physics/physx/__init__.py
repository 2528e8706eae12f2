"""PhysX: standing alone (`ovphysx`) and inside Isaac Sim (`isaacsim`), behind one set of tensors."""
