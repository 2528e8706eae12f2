"""Which metrics the report shows where, and what it says about its own sections."""

from __future__ import annotations

# Metrics in columns, most telling first: the first one sorts the table.
RANKINGS = {
    "training": [
        "return_final",
        "success_rate",
        "total_fps",
        "collection_fps",
        "environment_step_fps",
        "total_wall_time_s",
        "ram_peak_gb",
        "gpu_mem_peak_gb",
    ],
    "play": [
        "success_rate",
        "return_mean",
        "ep_length_mean",
        "total_fps",
        "environment_step_fps",
        "ram_peak_gb",
        "gpu_mem_peak_gb",
    ],
    "runtime": [
        "environment_step_fps",
        "total_fps",
        "iteration_time_s",
        "startup_time_s",
        "ram_peak_gb",
        "gpu_mem_peak_gb",
    ],
    "startup": [
        "startup_time_s",
        "startup_python_imports_s",
        "startup_app_launch_s",
        "startup_env_creation_s",
        "startup_first_step_s",
    ],
}
# The ones that make a headline.
HEADLINES = {
    "training": ["return_final", "success_rate", "total_fps"],
    "play": ["success_rate", "return_mean"],
    "runtime": ["environment_step_fps"],
    "startup": ["startup_time_s"],
}
THROUGHPUTS = ["total_fps", "collection_fps", "environment_step_fps"]
RUN_COLUMNS = ["return_final", "success_rate", "total_fps", "ram_peak_gb"]

# Series of the journals → heading and axis.
LOADS = {
    "ram_gb": ("Memory of the worker", "memory [GB]"),
    "cpu_pct": ("Processor", "CPU [%], 100 is one core"),
    "gpu_mem_gb": ("Memory of the GPU", "GPU memory [GB], whole device"),
    "gpu_util_pct": ("GPU utilisation", "utilisation [%]"),
}

LEADS = {
    "summary": "The best of those that ran the same workload, and whether it can be told from the others.",
    "ranking": "Bold: best of its workload, where it has at least 3 runs. ≈: not separable from the best with these "
    "runs. Rates, times and memory are geometric means over the runs, the rest arithmetic ones. Below a value: its "
    "95 % interval. Runs under one heading differ in library and engine only.",
    "curves": "Interquartile mean over seeds with its 95 % bootstrap interval, as far as all seeds go. Colour is the "
    "library, dashes are the engine.",
    "scaling": "Both axes are logarithmic: twice the environments at the same speed of each would be a straight line.",
    "breakdown": "Time of an iteration by what it was spent on. Arithmetic means over the runs, so that the parts add "
    "up; Rankings has geometric ones. Simulation is timed apart in profiling.mode=serialized_synchronized only.",
    "startup": "From the spawn of the process to the end of the first step, phases in the order they ran. Arithmetic "
    "means over the runs, so that the phases add up; Rankings has geometric ones.",
    "load": "From the journals beside the bundles: memory and processor of the worker's process tree, GPUs as a whole.",
    "equivalence": "Two engines that carried out the same actions on the same task, and how far they came apart. "
    "These runs measure no speed.",
    "history": "Results by commit; a ring marks a step for the worse.",
}

NOTES = [
    "A group is all runs that agree in task, library, engine, environments, budget, device, machine and everything "
    "else that must agree for a comparison. Only completed and unperturbed runs enter its statistics.",
    "Values are means over the runs of a group: geometric means for rates, times and memory, arithmetic ones for "
    "returns, rates of success, and the parts that times are split into. Intervals are 95 % by "
    "Student's t on the same scale. They say how well the mean is known, not how far single runs scatter.",
    "≈ is the answer of the same test that compare uses, for all contests of this report together. Marks refer to all "
    "groups of a workload, also those a filter hides.",
    "Curves are drawn at up to 80 evenly spaced places between the common start and end of the seeds, single seeds at "
    "up to 60 of their own values; load over time at up to 60 places, each the largest sample since the one before.",
    "Seconds of training come from the journal where it lies beside the bundle; otherwise all iterations of a run "
    "count as equally long.",
    "Filters choose whole groups, so that every statistic stays true. The address of this page holds filters, sorting, "
    "section and open run: copy it to show what you see.",
]
