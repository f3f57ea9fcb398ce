/** What is looked at: a range of time, the cursor, the playhead. Seconds of simulated time. */
export const time = $state({
  duration: 0,
  from: 0,
  to: 0,
  /** Under the pointer; null outside the charts. */
  cursor: null as number | null,
  playhead: 0,
  playing: false,
  /** Simulated seconds per second. */
  speed: 0.1,
});
export function resetTime(duration: number): void {
  // Where a run has begun in earnest.
  Object.assign(time, { duration, from: 0, to: duration, cursor: null, playhead: duration * 0.1, playing: false });
}
const LEAST = 1e-6;
export function zoom(from: number, to: number): void {
  const least = Math.max(LEAST, time.duration * 1e-9);
  const a = Math.max(0, Math.min(from, to)),
    b = Math.min(time.duration, Math.max(from, to));
  if (b - a < least) return;
  time.from = a;
  time.to = b;
}
export const zoomAll = (): void => {
  time.from = 0;
  time.to = time.duration;
};
/** By a factor about a moment; below 1 shows less. */
export function zoomBy(factor: number, about = (time.from + time.to) / 2): void {
  zoom(about - (about - time.from) * factor, about + (time.to - about) * factor);
}
export function pan(part: number): void {
  const wide = time.to - time.from;
  const from = Math.max(0, Math.min(time.duration - wide, time.from + part * wide));
  time.from = from;
  time.to = from + wide;
}
export function moveTo(at: number): void {
  time.playhead = Math.max(0, Math.min(time.duration, at));
  // The range follows a playhead that leaves it.
  const wide = time.to - time.from;
  if (wide < time.duration && (time.playhead < time.from || time.playhead > time.to)) {
    time.from = Math.max(0, Math.min(time.duration - wide, time.playhead - wide * 0.1));
    time.to = time.from + wide;
  }
}
let last = 0;
function frame(now: number): void {
  if (!time.playing) return;
  const next = time.playhead + Math.min(0.1, (now - last) / 1000) * time.speed;
  last = now;
  moveTo(next);
  if (next >= time.duration) time.playing = false;
  else requestAnimationFrame(frame);
}
/** One second of the clock a step, for those who asked their system for less motion. */
function steps(): void {
  if (!time.playing) return;
  moveTo(time.playhead + time.speed);
  if (time.playhead >= time.duration) time.playing = false;
  else setTimeout(steps, 1000);
}
export function play(on: boolean): void {
  if (on === time.playing) return;
  time.playing = on;
  if (!on) return;
  if (time.playhead >= time.duration) time.playhead = 0;
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
    steps();
    return;
  }
  last = performance.now();
  requestAnimationFrame(frame);
}
