// web/src/time_window.js: the part of the time that a timeline shows, in nanoseconds. Pure, apart from telling that it moved.
// It never leaves [0, whole] and never gets shorter than what can be told apart.

const kShortest = 100; // nanoseconds

export class TimeWindow {
    constructor(whole, moved = () => {}) {
        Object.assign(this, { whole: Math.max(whole, 1), from: 0, moved });
        this.to = this.whole;
    }

    get span() {
        return this.to - this.from;
    }

    set(from, to) {
        const span = Math.min(Math.max(to - from, kShortest), this.whole);
        this.from = Math.min(Math.max(0, from), this.whole - span);
        this.to = this.from + span;
        this.moved();
    }

    all() {
        this.set(0, this.whole);
    }

    // The time `at` stays where it is on the screen.
    zoom(factor, at = (this.from + this.to) / 2) {
        this.set(at - (at - this.from) * factor, at + (this.to - at) * factor);
    }

    // By a part of what is shown.
    pan(part) {
        this.set(this.from + part * this.span, this.to + part * this.span);
    }

    // Some room on both sides, so that one sees what is next to it.
    around(start, end) {
        const room = Math.max((end - start) * 0.6, kShortest);
        this.set(start - room, end + room);
    }

    // In an address: "1000-2000".
    toString() {
        return `${Math.round(this.from)}-${Math.round(this.to)}`;
    }
}
