// web/src/colors.js: which of the style's colours stands for what. The same everywhere: an event's kind, a kernel's kind.

export const kKindColors = ["kernel", "compile", "run", "wait", "data", "region", "step", "copy", "python"]; // by kind of event; the last is kPython
export const kKernelKinds = ["contraction", "row", "map", "custom"];
export const kernelColor = (kernel) => (kKernelKinds.includes(kernel?.kind) ? kernel.kind : "custom");
