// Texts for people: times, durations, numbers, levels.

const UNITS = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];

// "2 d 3 h", "5 min", "12 s": the two largest units.
export function duration(seconds) {
  if (seconds > 0 && seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  let left = Math.max(0, Math.round(seconds));
  const first = UNITS.findIndex(([, size]) => left >= size);
  const parts = UNITS.slice(first, first + 2).map(([unit, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count > 0 && `${count} ${unit}`;
  });
  return parts.filter(Boolean).join(' ') || '0 s';
}

// Local time, in the order of ISO 8601.
export function dateTime(time) {
  const date = new Date(time);
  return new Date(date - date.getTimezoneOffset() * 60000).toISOString().slice(0, 19).replace('T', ' ');
}

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString('en')} ${number === 1 ? one : many}`;

// The class of a badge, by the level of a Condition.
export const tone = (level) => ({ good: 'good', 'in progress': 'warn', bad: 'bad' })[level] ?? 'idle';

// A measured value in a unit of UCUM.
export const measure = (value, unit) => `${value} ${{ Cel: '°C', 1: '' }[unit] ?? unit}`.trim();

// As kubectl writes taints.
export const taint = ({ key, value, effect }) => (effect === 'none' ? '' :
  `${key}${value && `=${value}`}${key && ':'}${effect}`);
