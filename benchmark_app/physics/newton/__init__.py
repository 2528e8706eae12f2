"""Newton's solvers: MuJoCo Warp (`mjwarp`) and Kamino (`kamino`)."""
