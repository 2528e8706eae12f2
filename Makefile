# `make help` lists the targets. Everything runs in .venv, which `make install` makes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# ovphysx and the test tools disagree on `packaging`, so that engine has an environment of its own.
OVPHYSX_VENV := .venv-ovphysx
OVPHYSX_INSTALLED := $(OVPHYSX_VENV)/.installed
ARGS ?=
# Processes the tests run in, whole files at a time.
TEST_PROCESSES ?= 2
SIDE_BY_SIDE := -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help install install-ovphysx run test test-measure test-learning test-slow test-tasks test-ovphysx test-slurm test-gpu check format schema task-pages task-pictures task-video bench fairness transfer clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(INSTALLED) ## Make .venv with everything in it, at the versions of constraints.txt

$(INSTALLED): pyproject.toml constraints.txt
	@echo "Installing into $(VENV): a few minutes, once."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

install-ovphysx: $(OVPHYSX_INSTALLED) ## Make .venv-ovphysx: the same with physics=ovphysx (NVIDIA's licence)

$(OVPHYSX_INSTALLED): pyproject.toml constraints-ovphysx.txt
	@echo "ovphysx and its schemas are NVIDIA's: by downloading or using ovphysx, you agree to the NVIDIA Omniverse terms."
	@echo "https://www.nvidia.com/en-us/agreements/enterprise-software/product-specific-terms-for-omniverse"
	@echo "Press Ctrl-C within 5 seconds if you do not."
	@sleep 5
	$(PYTHON) -m venv $(OVPHYSX_VENV)
	$(OVPHYSX_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-ovphysx.txt -e '.[ovphysx,test]'
	@touch $@

run: install ## Run the main job: start-up, runtime, training and play (ARGS="framework=skrl" to change it)
	$(BIN)/python -m benchmark_app $(ARGS)

test: install ## Run the tests
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m "not learning and not gpu and not ovphysx and not slurm and not slow and not tasks and not measure" $(ARGS)

test-learning: install ## Train every library on cartpole with three seeds, and check what it learned (minutes)
	$(BIN)/python -m pytest -m learning $(ARGS)

test-tasks: install ## Run every rule of the contract on every task and engine (half an hour)
	$(BIN)/python -m pytest -n $(TEST_PROCESSES) -m "tasks and not gpu and not ovphysx" $(ARGS)

test-slow: install ## Run what takes long beside a quicker test of its kind (minutes)
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m "slow and not gpu and not ovphysx" $(ARGS)

test-ovphysx: install-ovphysx ## Run the tests of physics=ovphysx (downloads it, under NVIDIA's licence)
	$(OVPHYSX_VENV)/bin/python -m pytest $(SIDE_BY_SIDE) -m "ovphysx and not gpu and not tasks and not slow" $(ARGS)

test-measure: install ## Run the tests that measure this machine; it should be idle (minutes)
	$(BIN)/python -m pytest -m measure $(ARGS)

test-slurm: install ## Run the tests on a SLURM of their own (needs slurm-wlm munge slurmdbd mariadb-server)
	$(BIN)/python -m pytest -m slurm $(ARGS)

test-gpu: install ## Run the tests that need an NVIDIA GPU
	$(BIN)/python -m pytest -m gpu $(ARGS)

check: install ## Lint, format check, type check and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

schema: install ## Write docs/bundle-1.4.schema.json anew
	$(BIN)/python -m benchmark_app.bundle.json_schema > docs/bundle-1.4.schema.json

task-pages: install ## Write docs/tasks/*.md anew, from what the tasks declare
	for file in conf/task/*.yaml; do name=$$(basename $$file .yaml); \
	  if [ -f docs/tasks/$$name.mp4 ]; then video="--video $$name.mp4"; else video=; fi; \
	  $(BIN)/python -m benchmark_app tasks $$name --page $$video > docs/tasks/$$name.md || exit 1; done

task-pictures: install ## Draw docs/tasks/*.png anew
	$(BIN)/python benchmarks/task_pictures.py docs/tasks

task-video: install ## Record docs/tasks/TASK.mp4 of a trained policy (TASK=ant CHECKPOINT=PATH)
	run=$$PWD/outputs/video-$(TASK)-$$(date +%Y%m%d-%H%M%S) && \
	$(BIN)/python -m benchmark_app workflow=play task=$(TASK) checkpoint=$(CHECKPOINT) device=cpu play.video=true \
	  play.episodes=4 num_envs=4 video.seconds=8 video.width=480 video.height=360 hydra.run.dir=$$run $(ARGS) && \
	cp $$run/videos/play.mp4 docs/tasks/$(TASK).mp4 && $(MAKE) task-pages

bench: install ## Measure our own overhead against bare engines and loops
	$(BIN)/python benchmarks/env_overhead.py
	$(BIN)/python benchmarks/env_overhead.py --task ant
	$(BIN)/python benchmarks/engine_overhead.py
	$(BIN)/python benchmarks/render_overhead.py
	$(BIN)/python benchmarks/guard_overhead.py
	$(BIN)/python benchmarks/hook_overhead.py
	$(BIN)/python benchmarks/execution_overhead.py
	$(BIN)/python benchmarks/adapter_overhead.py
	$(BIN)/python benchmarks/sampler_cost.py
	$(BIN)/python benchmarks/first_result.py

fairness: install ## Train the four libraries with three seeds, exact and stock, and write docs/fairness.md (10 minutes)
	runs=outputs/fairness-$$(date +%Y%m%d-%H%M%S) && \
	$(BIN)/python -m benchmark_app -m seed=1,2,3 agent.timeout_bootstrap=exact,stock \
	  framework=rsl_rl,skrl,sb3,rl_games workflow=training 'workflow.steps=[training,play]' \
	  device=cpu hydra.sweep.dir=$$runs $(ARGS) && \
	$(BIN)/python benchmarks/fairness.py $$runs > $$runs/fairness.md && mv $$runs/fairness.md docs/fairness.md

transfer: install-ovphysx ## Train on every engine, play every policy on every engine, and print the matrix (15 minutes)
	$(OVPHYSX_VENV)/bin/python benchmarks/transfer.py $(ARGS)

clean: ## Remove .venv and caches; results in outputs/ stay
	rm -rf $(VENV) $(OVPHYSX_VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
