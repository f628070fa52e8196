import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useParams } from '@tanstack/react-router';
import { NotFoundPage } from '@/app/NotFoundPage';
import { PageTitle } from '@/app/PageTitle';
import { MySection } from '@/features/limits/MySection';
import { NotificationsSection } from '@/features/notify/NotificationsSection';
import { MyUsage } from '@/features/usage/MyUsage';
import classes from './Account.module.css';
import { AccountNav } from './AccountNav';
import { AppearanceSection } from './AppearanceSection';
import { LanguageSection } from './LanguageSection';
import { PasswordSection } from './PasswordSection';
import { ProfileSection } from './ProfileSection';
import { SecondFactorSection } from './SecondFactorSection';
import { type Section, sectionOf } from './sections';
import { TokensSection } from './TokensSection';

/** One's own account: who one is, what one may use and has used, how one logs in, what one is told. */
export function AccountPage() {
  const { section: slug } = useParams({ strict: false });
  const section = sectionOf(slug);
  if (section === undefined) return <NotFoundPage />;
  const part = section.label;
  return (
    <>
      <div className={classes.title}>
        <PageTitle tab={t`${part} · Your account`}>
          <Trans>Your account</Trans>
        </PageTitle>
      </div>
      <div className={classes.page}>
        <AccountNav here={section} />
        <div>
          <Part slug={section.slug} />
        </div>
      </div>
    </>
  );
}

function Part({ slug }: Pick<Section, 'slug'>) {
  switch (slug) {
    case 'profile':
      return <ProfileSection />;
    case 'limits':
      return (
        <div className={classes.limits}>
          <MySection />
          <MyUsage />
        </div>
      );
    case 'notifications':
      return <NotificationsSection />;
    case 'password':
      return <PasswordSection />;
    case 'second-factor':
      return <SecondFactorSection />;
    case 'tokens':
      return <TokensSection />;
    case 'appearance':
      return (
        <>
          <AppearanceSection />
          <LanguageSection />
        </>
      );
  }
}
