{{ config(enabled=project_name == 'spark_cdc') -}}

{{ spark_cdc.netiq_publication(
    ref('demo_identities__log'),
    table='usr',
    key=['idu'],
    columns={
        'idu': 'int',
        'fname': 'string',
        'lname': 'string',
        'pwdminlen': 'int',
        'pwdexptime': 'timestamp',
        'photo': 'binary'
    },
    snapshot=ref('demo_users__snapshot'),
    driver_user='idm'
) }}
