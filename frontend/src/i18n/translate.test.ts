import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { setCatalog, translate, translateExact } from './translate';

const SOME = {
  'Slurm is asked only so often. Please try again in {0} seconds.': '请在 {0} 秒后重试。',
  'There were too many failed logins. Please try again in {0}.': '登录失败过多，请在{0}后重试。',
  '{0} minutes': '{0} 分钟',
  'It was cancelled.': '已取消。',
  'Start it again.': '请重新启动。',
  '{0} is too long.': '{0}太长。',
  'This name is too long.': '名称太长。',
  'There is no partition “{0}”.': '没有分区“{0}”。',
  '{0} of {1} jobs ended.': '{1} 个作业中有 {0} 个已结束。',
  'The node {0} is down (see a.b+c).': '节点 {0} 已宕机（见 a.b+c）。',
  down: '宕机',
};

beforeEach(() => setCatalog(SOME));
afterEach(() => setCatalog(null));

describe('translate', () => {
  it('leaves English as it is', () => {
    setCatalog(null);
    expect(translate('It was cancelled.')).toBe('It was cancelled.');
  });

  it('leaves text without a translation as it is', () => {
    expect(translate('Something else entirely.')).toBe('Something else entirely.');
    expect(translate('')).toBe('');
    expect(translate(null)).toBeNull();
    expect(translate(undefined)).toBeUndefined();
  });

  it("fills the placeholders in the translation's order", () => {
    expect(translate('3 of 10 jobs ended.')).toBe('10 个作业中有 3 个已结束。');
    expect(translate('Slurm is asked only so often. Please try again in 7 seconds.')).toBe(
      '请在 7 秒后重试。',
    );
  });

  it('translates the pieces too', () => {
    expect(translate('There were too many failed logins. Please try again in 5 minutes.')).toBe(
      '登录失败过多，请在 5 分钟后重试。',
    );
  });

  it("leaves a user's own word between quotation marks as it is", () => {
    expect(translate('There is no partition “down”.')).toBe('没有分区“down”。');
    expect(translate('down')).toBe('宕机');
  });

  it('translates a single word only where the portal puts one', () => {
    setCatalog({
      '{0} has no {1} left.': '{0} 没有剩余{1:term}。',
      time: '时间',
      CPUs: 'CPU',
    });
    expect(translate('time has no time left.')).toBe('time 没有剩余时间。');
    expect(translate('time and CPUs has no time and CPUs left.')).toBe(
      'time and CPUs 没有剩余时间和 CPU。',
    );
  });

  it('limits the depth of nested pieces', () => {
    setCatalog({ 'in {0} it': '在{0}里' });
    expect(translate(`${'in '.repeat(20)}x y${' it'.repeat(20)}`).split('在')).toHaveLength(10);
    const again = 'in it '.repeat(300);
    expect(translate(again)).toBe(again);
  });

  it('prefers the message with the most fixed text', () => {
    expect(translate('This name is too long.')).toBe('名称太长。');
    expect(translate('This word is too long.')).toBe('This word 太长。');
  });

  it('translates sentence by sentence', () => {
    expect(translate('It was cancelled. Start it again.')).toBe('已取消。请重新启动。');
    expect(translate('It was cancelled. The cause is unknown. Start it again.')).toBe(
      '已取消。The cause is unknown. 请重新启动。',
    );
  });

  it('does not match a placeholder with another known sentence', () => {
    expect(translate('It was cancelled. The script is too long.')).toBe(
      '已取消。The script 太长。',
    );
  });

  it('matches a message of two sentences among others', () => {
    expect(
      translate(
        'It was cancelled. Slurm is asked only so often. Please try again in 7 seconds. Start it again.',
      ),
    ).toBe('已取消。请在 7 秒后重试。请重新启动。');
  });

  it('treats special characters literally', () => {
    expect(translate('The node $& {0}\nb is down (see a.b+c).')).toBe(
      '节点 $& {0}\nb 已宕机（见 a.b+c）。',
    );
    expect(translate('The node n is down (see aXb+c).')).toBe('The node n is down (see aXb+c).');
  });
});

describe('texts that users write', () => {
  it('are translated only if known as a whole', () => {
    expect(translateExact('It was cancelled.')).toBe('已取消。');
    expect(translateExact('Start it again. It was cancelled.')).toBe(
      'Start it again. It was cancelled.',
    );
    expect(translateExact('5 minutes')).toBe('5 minutes');
    expect(translateExact('toString')).toBe('toString');
    expect(translateExact(null)).toBeNull();
    expect(translateExact('')).toBe('');
    setCatalog(null);
    expect(translateExact('It was cancelled.')).toBe('It was cancelled.');
  });
});
