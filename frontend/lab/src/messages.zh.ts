/** Every text that this extension shows, in Simplified Chinese. */
import type { Messages } from './messages.en';

const hours = (minutes: number): string =>
  minutes % 60 === 0 ? `${minutes / 60} 小时` : `${minutes} 分钟`;

export const chinese: Messages = {
  locale: 'zh-CN',
  spans: {
    seconds: (seconds) => `${seconds} 秒`,
    minutes: (minutes) => `${minutes} 分钟`,
    hours: (count) => `${count} 小时`,
    hoursMinutes: (count, minutes) => `${count} 小时 ${minutes} 分`,
    days: (days) => `${days} 天`,
    daysHours: (days, count) => `${days} 天 ${count} 小时`,
    minutesSeconds: (minutes, seconds) => `${minutes}:${seconds} 分钟`,
    over: () => '时间已到',
  },
  menu: '会话',
  palette: '会话',
  left: (time) => `剩余 ${time}`,
  timeUp: '时间已到',
  noLimit: '没有时间上限',
  endsAt: (time) => `此会话将于 ${time} 结束。`,
  openMenu: '打开会话菜单。',
  use: '此会话的使用情况',
  memory: (used, limit) => (limit === null ? `内存 ${used}` : `内存 ${used} / ${limit}`),
  memoryUnknown: '此节点不提供会话的内存用量。',
  gpu: (count, percent, memory) =>
    [
      count === 1 ? 'GPU' : `${count} 个 GPU`,
      percent === null ? null : `${percent} %`,
      memory === null ? null : `显存 ${memory}`,
    ]
      .filter((part) => part !== null)
      .join(' '),
  of: (used, limit) => `${used} / ${limit}`,
  gpuSilent: (count) => `${count === 1 ? 'GPU' : `${count} 个 GPU`}：使用情况未知`,
  gpuUnknown: (count) => `${count} 个 GPU。此节点不提供 GPU 的使用情况。`,
  noGpu: '此会话没有 GPU。',
  gpuLine: (name, percent, memory) => `${name}：${percent}，显存 ${memory}`,
  unknown: '未知',
  warning: (time) => `此会话将在 ${time}后结束。请保存您的工作：内核和终端会随之结束。`,
  cantExtend: (why) => `无法延长：${why}`,
  extend: (minutes) => `延长 ${hours(minutes)}`,
  extended: (time) => `此会话现在将于 ${time} 结束。`,
  extending: '延长会话',
  tensorboard: '打开 TensorBoard',
  tensorboardOf: (folder) => `此会话的 TensorBoard：${folder}`,
  runNotebook: '将此 notebook 作为作业运行',
  notInHome: '只有主目录中的 notebook 才能作为作业运行。',
  notSaved: '无法保存 notebook，因此未提交。',
  back: '返回门户',
  idle: (time, gpuCount, cpuCount) =>
    `这里已有 ${time}没有运行任何内容。此会话仍占用 ${
      gpuCount > 0 ? `${gpuCount} 个 GPU 和 ` : ''
    }${cpuCount} 个 CPU，其他人无法使用。`,
  stop: '停止会话…',
  keep: '保留',
  endedTitle: '此会话未在运行',
  ended: '会话已结束。您可以重新启动。',
  startAgain: '重新启动…',
  silentTitle: '会话没有响应',
  silent: '请检查网络连接。未保存的更改仍在此页面上，会话恢复响应后即可继续。',
  dismiss: '关闭',
  noAnswer: '无法查询此会话。请检查网络连接。',
};
