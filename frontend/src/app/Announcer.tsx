import { VisuallyHidden } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { sentences } from '@/i18n/lists';
import { announcements, jobAnnouncements } from '@/live/announce';
import { useLive } from '@/live/store';

/** Tells screen readers, politely, what changed by itself. */
export function Announcer() {
  const sessions = useLive((s) => s.sessions);
  const jobs = useLive((s) => s.jobs);
  const before = useRef({ sessions, jobs });
  const [text, setText] = useState('');
  useEffect(() => {
    const news = [
      ...announcements(before.current.sessions, sessions),
      ...jobAnnouncements(before.current.jobs, jobs),
    ];
    before.current = { sessions, jobs };
    if (news.length > 0) setText(sentences(news));
  }, [sessions, jobs]);
  return (
    <VisuallyHidden role="status" aria-live="polite">
      {text}
    </VisuallyHidden>
  );
}
