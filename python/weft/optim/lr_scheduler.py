"""Learning rates that change from step to step. A changed rate never compiles anything anew."""

import bisect
import math


class LRScheduler:
    """The base: a subclass has `factor(step)`, the rate at a step as a multiple of the initial one."""

    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer, self.last_epoch = optimizer, last_epoch
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.step()

    def factor(self, step):
        raise NotImplementedError

    def get_lr(self):
        """The rates of this step, by group."""
        return [base * self.factor(self.last_epoch) for base in self.base_lrs]

    def step(self, epoch=None):
        """Goes to the next step."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        for group, lr in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = lr

    def get_last_lr(self):
        """The rates in use, by group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self):
        """Everything but the optimiser."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer" and not callable(value)}

    def load_state_dict(self, state_dict):
        """Continues from a state of state_dict()."""
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """The rate times a function of the step."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.factor = lr_lambda
        super().__init__(optimizer, last_epoch)


class StepLR(LRScheduler):
    """The rate times gamma every step_size steps."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, step):
        return self.gamma ** (step // self.step_size)


class MultiStepLR(LRScheduler):
    """The rate times gamma at each milestone."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, step):
        return self.gamma ** bisect.bisect_right(self.milestones, step)


class ExponentialLR(LRScheduler):
    """The rate times gamma every step."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, step):
        return self.gamma**step


class LinearLR(LRScheduler):
    """From start_factor to end_factor in total_iters steps: a warm-up."""

    def __init__(self, optimizer, start_factor=1 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, step):
        return self.start_factor + (self.end_factor - self.start_factor) * min(step, self.total_iters) / self.total_iters


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the rate to eta_min in T_max steps."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        part = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * part for base in self.base_lrs]


class ReduceLROnPlateau:
    """The rate times `factor` after `patience` steps without a better value: `scheduler.step(loss)`."""

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, cooldown=0, min_lr=0.0, eps=1e-8):
        if mode not in ("min", "max"):
            raise ValueError(f"ReduceLROnPlateau(): argument 'mode' must be 'min' or 'max', not '{mode}'")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.cooldown, self.min_lr, self.eps = threshold, cooldown, min_lr, eps
        self.best, self.num_bad_epochs, self.cooldown_counter = math.inf if mode == "min" else -math.inf, 0, 0

    def _better(self, value):
        margin = 1 - self.threshold if self.mode == "min" else 1 + self.threshold
        return value < self.best * margin if self.mode == "min" else value > self.best * margin

    def step(self, metrics):
        """Tells the value of this step."""
        value = float(metrics)
        if self._better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            for group in self.optimizer.param_groups:
                lr = max(group["lr"] * self.factor, self.min_lr)
                if group["lr"] - lr > self.eps:
                    group["lr"] = lr
            self.num_bad_epochs, self.cooldown_counter = 0, self.cooldown

    def get_last_lr(self):
        """The rates in use, by group."""
        return [group["lr"] for group in self.optimizer.param_groups]
