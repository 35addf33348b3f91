// web/src/roofline.js: where kernels stand between the machine's two limits, bandwidth and arithmetic. Pure.

// {points: [{kernel, intensity, rate, roof, ofRoof}], left: kernels without a place (no operations, or not measured)}
export function roofline(model) {
    const { bandwidth, flops } = model.machine;
    const points = [];
    const left = [];
    for (const kernel of model.kernels) {
        if (!kernel.flops || !kernel.moved || !kernel.rate) {
            left.push(kernel);
            continue;
        }
        const intensity = kernel.flops / kernel.moved; // operations per byte
        const roof = roofAt(intensity, bandwidth, flops);
        points.push({ kernel, intensity, rate: kernel.rate, roof, ofRoof: roof ? kernel.rate / roof : undefined });
    }
    return { points, left };
}

export function roofAt(intensity, bandwidth, flops) {
    const slope = bandwidth === undefined ? Infinity : intensity * bandwidth;
    const roof = Math.min(slope, flops ?? Infinity);
    return Number.isFinite(roof) ? roof : undefined;
}

// Ranges of the two axes in powers of ten: all points, the ridge, and some room around.
export function rooflineRange(points, machine) {
    const xs = points.map((p) => p.intensity);
    const ys = points.map((p) => p.rate);
    if (machine.bandwidth && machine.flops) xs.push(machine.flops / machine.bandwidth);
    if (machine.flops) ys.push(machine.flops);
    const range = (values) => {
        if (!values.length) return [0, 1];
        const low = Math.log10(Math.min(...values));
        const high = Math.log10(Math.max(...values));
        return [Math.floor(low - 0.15), Math.ceil(high + 0.15)];
    };
    return { x: range(xs), y: range(ys) };
}
