import type { ReactNode } from 'react';
import { seesAdmin } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { NotFoundPage } from '@/ui/NotFoundPage';
import { PageTitle } from '@/ui/PageTitle';
import classes from './AdminFrame.module.css';
import { AdminNav } from './AdminNav';

interface Props {
  /** the browser tab's title */
  tab: string;
  title: ReactNode;
  /** beside the title: a number, or the page's actions */
  aside?: ReactNode;
  children: ReactNode;
}

/** The frame of the administrators' pages; other users get "not found". */
export function AdminFrame({ tab, title, aside, children }: Props) {
  const me = useMe();
  if (!seesAdmin(me)) return <NotFoundPage />;
  return (
    <>
      <div className={classes.top}>
        <PageTitle tab={tab}>{title}</PageTitle>
        {aside}
      </div>
      <AdminNav />
      {children}
    </>
  );
}
